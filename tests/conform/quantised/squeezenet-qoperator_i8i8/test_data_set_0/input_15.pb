
By_quantized_readJççöΩ¶öçúçóççöø®ôçùçò