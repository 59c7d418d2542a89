
By_QuantizeLinear_Output_readJ(ˆÓ‘?½ù¬øÿ
útıàÇc1÷ÜMáŠ*Eï?*œøáòÔÜmÕò