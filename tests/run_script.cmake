# Runs SCRIPT with SIM2D and fails unless it succeeds and prints something.
execute_process(COMMAND "${SIM2D}" --quiet "${SCRIPT}"
                OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
message("${output}${errors}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SCRIPT}: exit status ${status}")
endif()
string(STRIP "${output}" output)
if(output STREQUAL "")
  message(FATAL_ERROR "${SCRIPT}: printed nothing")
endif()
