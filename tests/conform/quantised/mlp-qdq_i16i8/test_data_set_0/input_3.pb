
B'matmul_1_out_QuantizeLinear_Output_readJ(pÓ A7úøc÷HøzşDÇÓ4nİ<ßÂ* ï-—ğ²ğìÛŸÕÂñ