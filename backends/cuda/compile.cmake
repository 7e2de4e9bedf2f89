# cmake -DNVCC=nvcc -DFILE=NAME.cu -DOUTPUT=NAME.inc -DNAME=name -DOPTIONS="a|b" -P compile.cmake: machine code of a text of kernels as
# OUTPUT with .fatbin behind it, and OUTPUT itself: what C++ says of it.
string(REPLACE "|" ";" OPTIONS "${OPTIONS}")
execute_process(COMMAND ${NVCC} ${OPTIONS} -o ${OUTPUT}.fatbin ${FILE} OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
if(failed)
  file(REMOVE ${OUTPUT})
  message(FATAL_ERROR "${FILE}: ${said}")
endif()
file(SHA256 ${OUTPUT}.fatbin hash)
file(WRITE ${OUTPUT}
"asm(\".section .rodata\\n.balign 16\\n.local bp_cuda_${NAME}\\nbp_cuda_${NAME}:\\n.incbin \\\"${OUTPUT}.fatbin\\\"\\n.local bp_cuda_${NAME}_end\\nbp_cuda_${NAME}_end:\\n.byte 0\\n.previous\\n\");
extern const unsigned char bytes_${NAME}[] asm(\"bp_cuda_${NAME}\");
extern const unsigned char end_${NAME}[] asm(\"bp_cuda_${NAME}_end\");
const Code code_${NAME} = {bytes_${NAME}, end_${NAME}};
constexpr char hash_${NAME}[] = \"${hash}\";
")
