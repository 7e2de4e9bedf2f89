# For scripts that make OUTPUT, what C++ says of machine code made of FILE.
# bp_call(COMMAND...): calls a compiler; ends the script with its words where it fails, without OUTPUT.
function(bp_call)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  if(failed)
    file(REMOVE ${OUTPUT})
    message(FATAL_ERROR "${FILE}: ${said}")
  endif()
endfunction()

# bp_carry(SYMBOL FILE): the bytes of a file, in C++ from first_SYMBOL to end_SYMBOL. `blocks` is for one asm() in .rodata, `texts` what C++ declares.
set(blocks "")
set(texts "")
function(bp_carry symbol file)
  string(APPEND blocks ".balign 16\\n.local ${symbol}\\n${symbol}:\\n.incbin \\\"${file}\\\"\\n.local ${symbol}_end\\n${symbol}_end:\\n.byte 0\\n")
  string(APPEND texts "extern const unsigned char first_${symbol}[] asm(\"${symbol}\");\nextern const unsigned char end_${symbol}[] asm(\"${symbol}_end\");\n")
  set(blocks "${blocks}" PARENT_SCOPE)
  set(texts "${texts}" PARENT_SCOPE)
endfunction()
