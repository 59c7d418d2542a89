(B"split_1_out1_QuantizeLinear_OutputJP!"ý& 
!H-)C&B5þ

. T&%),,25&:÷ù:%