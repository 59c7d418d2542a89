
By_QuantizeLinear_Output_readJÔ	e>’±÷ÓhD!…¥õ