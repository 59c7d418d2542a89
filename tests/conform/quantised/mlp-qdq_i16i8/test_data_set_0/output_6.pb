
By_QuantizeLinear_OutputJ(Σ‘?½ω¬ψÿ
ϊtύΰΗc1χάMα*Eο?*ψαςΤάmΥς