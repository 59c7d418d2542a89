
By_QuantizeLinear_OutputJe´r	³Hoªä\·xªMt¬ó