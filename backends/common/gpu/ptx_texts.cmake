# Where nvcc is, kernels as PTX for other drivers (ptx_texts.hpp): BP_PTX_FOLDER/NAME.inc are rows of PtxText, of the kernels in BP_PTX_KERNELS; none elsewhere.
set(cuda_dir ${PROJECT_SOURCE_DIR}/backends/cuda)
include(${cuda_dir}/instances.cmake)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(BP_PTX_FOLDER ${generated} CACHE INTERNAL "")
set(BP_PTX_KERNELS "" CACHE INTERNAL "")
set(known "")
if(NOT CMAKE_CROSSCOMPILING)
  find_program(BP_NVCC nvcc HINTS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(BP_NVCC)
    execute_process(COMMAND ${BP_NVCC} --list-gpu-arch OUTPUT_VARIABLE known)
  endif()
endif()
# Floats in parts: attention with the more shared memory that a text may declare on 9.0; both tiles of products.
set(instances_attention_parts
  0=256,1=256,2=32,3=64,4=64,5=2 0=256,1=128,2=64,3=64,4=64,5=1 0=256,1=64,2=64,3=64,4=64,5=1 0=256,1=32,2=32,3=64,4=64,5=1
  0=256,1=256,2=32,3=128,4=128,5=2 0=256,1=128,2=32,3=128,4=128,5=1 0=256,1=64,2=32,3=128,4=128,5=1)
set(instances_attention_parts_few 0=256,1=16,2=64,3=64 0=256,1=32,2=64,3=64 0=256,1=16,2=128,3=128)
set(instances_attention_parts_relative 0=256,1=128,2=32,3=64,4=64,5=1 0=256,1=64,2=32,3=64,4=64,5=1 0=256,1=64,2=16,3=128,4=128,5=1)
set(instances_matmul_parts "")
foreach(tile 0=128,3=2,4=1,5=2,6=32,7=2 0=128,3=1,4=1,5=2,6=32,7=3)
  foreach(turned 8=0,9=0 8=0,9=1 8=1,9=0 8=1,9=1)
    list(APPEND instances_matmul_parts ${tile},${turned})
  endforeach()
endforeach()
set(texts "")
# bp_ptx(NAME FILE DEFINITION...): the variant NAME of a kernel in all its instances. For 9.0 with its own features (9.0a) alone: of others the compiler
# refuses more than 48 KiB of shared memory that the text declares.
function(bp_ptx name file)
  get_filename_component(source ${file} NAME_WE)
  list(JOIN ARGN "+" definitions)
  string(REPLACE ";" "|" folders "${cuda_dir}/kernels;${BP_GPU_KERNEL_FOLDERS}")
  string(REPLACE ";" "|" instances "${instances_${source}}")
  set(cu ${generated}/${name}.cu)
  add_custom_command(OUTPUT ${generated}/${name}.inc
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
    COMMAND ${CMAKE_COMMAND} -DCOMPILER=${CMAKE_C_COMPILER} -DFILE=${file} -DOUTPUT=${cu} "-DFOLDERS=${folders}"
      "-DVARIANTS=${name}+${definitions}" "-DINSTANCES=${instances}" -P ${cuda_dir}/translate.cmake
    COMMAND ${BP_NVCC} -std=c++17 -fmad=false -diag-suppress=177 -ptx -arch=compute_90a -o ${cu}.ptx ${cu}
    COMMAND ptx_texts ${cu}.ptx ${generated}/${name}.inc ${name} ${instances_${source}}
    DEPENDS ${file} ${cuda_kernels} ${BP_GPU_KERNEL_HEADERS} ${cuda_dir}/translate.cmake ptx_texts
    COMMENT "PTX of ${name}" VERBATIM)
  set(texts ${texts} ${generated}/${name}.inc PARENT_SCOPE)
  set(BP_PTX_KERNELS ${BP_PTX_KERNELS} ${name} CACHE INTERNAL "")
endfunction()
if(known MATCHES "compute_90\n")
  add_executable(ptx_texts EXCLUDE_FROM_ALL build/ptx_texts.cpp)
  target_link_libraries(ptx_texts PRIVATE bp_options)
  file(GLOB cuda_kernels CONFIGURE_DEPENDS ${cuda_dir}/kernels/*.h)
  bp_ptx(matmul_warpgroup_f16 ${cuda_dir}/kernels/matmul_warpgroup.cu HALF FULL_EPILOGUE AS_TEXT BUFFERS)
  bp_ptx(matmul_parts_f32 ${CMAKE_CURRENT_SOURCE_DIR}/kernels/matmul_parts.kernel FULL_EPILOGUE AS_TEXT)
  bp_ptx(attention_parts_f32 ${CMAKE_CURRENT_SOURCE_DIR}/kernels/attention_parts.kernel AS_TEXT)
  bp_ptx(attention_parts_relative_f32 ${CMAKE_CURRENT_SOURCE_DIR}/kernels/attention_parts_relative.kernel AS_TEXT)
  bp_ptx(attention_parts_few_f32 ${CMAKE_CURRENT_SOURCE_DIR}/kernels/attention_parts_few.kernel AS_TEXT)
  add_custom_target(kernels_as_ptx DEPENDS ${texts})
else()
  message(STATUS "Backends vulkan and opencl: without products on matrix units of warpgroups, vulkan without floats on matrix units, which nvcc has to compile (NVIDIA's CUDA toolkit, 12 or later)")
endif()
