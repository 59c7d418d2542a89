B(flatten_1_out_QuantizeLinear_Output_readJ 	&a		
 	.w#	+"2&