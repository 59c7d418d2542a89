
Bflatten_1_out_quantizedJ€€ëp'í€õ€Ú€ğ}5î€ã