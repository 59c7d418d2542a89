By3J0{’ﬁ’&U7M…”ÕRI“8”U÷Ã‹‘dU
T›NŒ7|”QQ•TñT(NVô”[Sá‘