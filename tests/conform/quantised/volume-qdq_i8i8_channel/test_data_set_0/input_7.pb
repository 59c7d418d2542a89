
By_QuantizeLinear_Output_readJŒÑYãÅÍSkÿ&€ÇWÔÆÈWqö(