# cmake -DNINJA=ninja -DBUILD=folder -DMOST=n -P few_steps.cmake: what `make demo` builds takes the C++ compiler at most n times. A whole build is quick
# because sources are compiled several at a time; a target that leaves this out shows here. Shaders, of which there is a command each, take no time.
execute_process(COMMAND ${NINJA} -C ${BUILD} -t commands demo RESULT_VARIABLE result OUTPUT_VARIABLE commands ERROR_VARIABLE errors)
if(result)
  message(FATAL_ERROR "cannot ask ninja for the commands of the demo in ${BUILD}: ${errors}")
endif()
string(REGEX MATCHALL "\\.o -c [^\n]*" compiled "${commands}")
list(LENGTH compiled steps)
if(steps EQUAL 0 OR steps GREATER MOST)
  message(FATAL_ERROR "the demo takes ${steps} compilations, not 1 to ${MOST}: is there a target without bp_unity()?")
endif()
message(STATUS "the demo takes ${steps} compilations")
