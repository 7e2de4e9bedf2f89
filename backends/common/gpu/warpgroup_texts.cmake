# Where nvcc is, the cuda backend's matmul_warpgroup as PTX for other drivers (warpgroup_texts.hpp): BP_WARPGROUP_TEXTS is a file of rows of WarpgroupText, an
# empty one elsewhere.
set(cuda_dir ${PROJECT_SOURCE_DIR}/backends/cuda)
include(${cuda_dir}/instances.cmake)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(texts ${generated}/warpgroup_texts.inc)
set(BP_WARPGROUP_TEXTS ${texts} CACHE INTERNAL "")
set(known "")
if(NOT CMAKE_CROSSCOMPILING)
  find_program(BP_NVCC nvcc HINTS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(BP_NVCC)
    execute_process(COMMAND ${BP_NVCC} --list-gpu-arch OUTPUT_VARIABLE known)
  endif()
endif()
if(known MATCHES "compute_90\n")
  add_executable(warpgroup_texts EXCLUDE_FROM_ALL build/warpgroup_texts.cpp)
  target_link_libraries(warpgroup_texts PRIVATE bp_options)
  set(cuts "")
  foreach(instance IN LISTS instances_matmul_warpgroup)
    string(REGEX REPLACE "0=384,3=([0-9]+),4=([0-9]+),shared=([0-9]+)" "\\1,\\2,\\3" cut "${instance}")
    list(APPEND cuts ${cut})
  endforeach()
  set(cu ${generated}/warpgroup_texts.cu)
  string(REPLACE ";" "|" folders "${cuda_dir}/kernels;${BP_GPU_KERNEL_FOLDERS}")
  string(REPLACE ";" "|" instances "${instances_matmul_warpgroup}")
  file(GLOB cuda_kernels CONFIGURE_DEPENDS ${cuda_dir}/kernels/*.h)
  add_custom_command(OUTPUT ${texts}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
    COMMAND ${CMAKE_COMMAND} -DCOMPILER=${CMAKE_C_COMPILER} -DFILE=${cuda_dir}/kernels/matmul_warpgroup.cu -DOUTPUT=${cu} "-DFOLDERS=${folders}"
      "-DVARIANTS=matmul_warpgroup_f16+HALF+FULL_EPILOGUE+BUFFERS" "-DINSTANCES=${instances}" -P ${cuda_dir}/translate.cmake
    COMMAND ${BP_NVCC} -std=c++17 -fmad=false -diag-suppress=177 -ptx -arch=compute_90a -o ${cu}.ptx ${cu}
    COMMAND warpgroup_texts ${cu}.ptx ${texts} bp_matmul_warpgroup_f16 ${cuts}
    DEPENDS ${cuda_dir}/kernels/matmul_warpgroup.cu ${cuda_kernels} ${BP_GPU_KERNEL_HEADERS} ${cuda_dir}/translate.cmake warpgroup_texts
    COMMENT "PTX of matmul_warpgroup" VERBATIM)
  add_custom_target(matmul_warpgroup_texts DEPENDS ${texts})
else()
  message(STATUS "Backends vulkan and opencl: without products on matrix units of warpgroups, which nvcc has to compile (NVIDIA's CUDA toolkit, 12 or later)")
  file(CONFIGURE OUTPUT ${texts} CONTENT "" @ONLY)
endif()
