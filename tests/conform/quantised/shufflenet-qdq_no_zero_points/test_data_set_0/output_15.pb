B-globalaveragepool_1_out_QuantizeLinear_OutputJ 	&a		
 	.w#	+"2&