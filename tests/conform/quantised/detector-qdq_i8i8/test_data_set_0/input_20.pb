(B'split_1_out1_QuantizeLinear_Output_readJP!"ý& 
!H-)C&B5þ

. T&%),,25&:÷ù:%