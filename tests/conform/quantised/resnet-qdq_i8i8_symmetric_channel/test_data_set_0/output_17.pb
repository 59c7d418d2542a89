
By_QuantizeLinear_OutputJÔ	e>’±÷ÓhD!…¥õ