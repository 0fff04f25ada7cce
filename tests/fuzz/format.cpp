extern const char* const peerlane_fuzz_format;
const char* const peerlane_fuzz_format = PEERLANE_FUZZ_FORMAT;
