# Writes OUTPUT, a header with the commit of the sources in SOURCE ("" where git does not know), if
# that has changed: cmake -DSOURCE=... -DOUTPUT=... -P packaging/build_id.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define S2_COMMIT \"@commit@\"\n" @ONLY)
