# cmake -DNINJA=ninja -DBUILD=folder -DMOST=n -P few_steps.cmake: what `make demo` builds takes at most n commands. A whole build is quick because
# sources are compiled several at a time; a target that leaves this out shows here.
execute_process(COMMAND ${NINJA} -C ${BUILD} -t commands demo RESULT_VARIABLE result OUTPUT_VARIABLE commands ERROR_VARIABLE errors)
if(result)
  message(FATAL_ERROR "cannot ask ninja for the commands of the demo in ${BUILD}: ${errors}")
endif()
string(REGEX MATCHALL "\n" lines "${commands}")
list(LENGTH lines steps)
if(steps GREATER MOST)
  message(FATAL_ERROR "the demo takes ${steps} commands to build, not at most ${MOST}: is there a target without bp_unity()?")
endif()
message(STATUS "the demo takes ${steps} commands to build")
