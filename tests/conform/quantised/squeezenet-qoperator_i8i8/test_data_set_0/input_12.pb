
B&globalaveragepool_1_out_quantized_readJ€€ëp'í€õ€Ú€ğ}5î€ã