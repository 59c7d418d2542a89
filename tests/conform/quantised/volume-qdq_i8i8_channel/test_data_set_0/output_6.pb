
By_QuantizeLinear_OutputJŒÑYãÅÍSkÿ&€ÇWÔÆÈWqö(