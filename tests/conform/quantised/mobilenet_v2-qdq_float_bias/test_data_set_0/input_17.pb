
By_QuantizeLinear_Output_readJe´r	³Hoªä\·xªMt¬ó