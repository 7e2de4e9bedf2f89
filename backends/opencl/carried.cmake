# Where nvcc is, machine code for NVIDIA's chips of the kernels that a first picture needs, and those that first contact and the checks of its ops need: their
# driver builds one kernel at a time, whoever asks, each for 60 to 340 ms (docs/kernel-cache.md). A row is a kernel and all its constants, as lowerings
# give them (0 is the size of the workgroup, zeros at the end are left out); what is in no row is built by the driver.
set(carried "")
foreach(row
  "copy_2 128" "copy_4 128" "cast 128 255 255" "unary_f32 128 19" "binary_i32 128" "binary_f32 128 40" "binary_f16 128 40"
  "cast 128 1 2" "cast 128 2 1" "cast_wide 128 255 255" "resize_nearest_2 128 1 1 1"
  "resize_nearest_4 128 1 1" "resize_nearest_4 128 1 1 1"
  "conv_f32 64 1 0 16 64 4 4 16 3 1" "conv_f32 64 1 0 32 32 4 4 16 1 1" "conv_f32 64 1 0 32 32 4 4 16 3 1" "conv_f32 64 33 0 32 32 4 4 16 3 1"
  "conv_f32 64 33 0 32 32 4 4 16 5 1" "conv_f32 64 97 0 32 32 4 4 16 1 1" "conv_f32 64 97 0 32 32 4 4 16 3 1" "matmul_f32 64 38 0 32 32 4 4 16"
  "conv_patch_f32 256 1 0 0 0 0 0 0 3" "conv_patch_f32 256 33 0 0 0 0 0 0 3" "conv_patch_f32 256 97 0 0 0 0 0 0 3" "conv_patch_f32 256 33 0 0 0 0 0 0 5")
  list(APPEND carried "${row}")
endforeach()
set(machines "")
set(known "")
if(BP_NVCC AND NOT CMAKE_CROSSCOMPILING)
  execute_process(COMMAND ${BP_NVCC} --list-gpu-arch OUTPUT_VARIABLE known)
  set(wanted ${BACKPLANE_CUDA_ARCHITECTURES})
  if(wanted STREQUAL "all")
    set(wanted 80 90 100 120)  # those of a minor version run on later ones of their major
  elseif(NOT wanted OR wanted STREQUAL "native")
    set(wanted 80 90)
  endif()
  foreach(machine IN LISTS wanted)
    if(machine GREATER_EQUAL 80 AND known MATCHES "compute_${machine}\n")
      list(APPEND machines ${machine})
    endif()
  endforeach()
endif()
# The least driver of the toolkit's major version, as for the cuda module.
set(carried_driver 525)
if(machines)
  execute_process(COMMAND ${BP_NVCC} --version OUTPUT_VARIABLE said)
  if(said MATCHES "release ([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 13)
    set(carried_driver 580)
  endif()
endif()
set(carried_code "")
set(carried_rows "")
set(carried_text "")
if(machines AND known MATCHES "compute_80\n")
  set(cuda_dir ${PROJECT_SOURCE_DIR}/backends/cuda)
  file(GLOB cuda_kernels CONFIGURE_DEPENDS ${cuda_dir}/kernels/*.h)
  foreach(row IN LISTS carried)
    string(REPLACE " " ";" constants "${row}")
    list(POP_FRONT constants name)
    set(instance "")
    set(values "")
    foreach(number RANGE 11)
      set(value 0)
      if(constants)
        list(POP_FRONT constants value)
      endif()
      list(APPEND instance "${number}=${value}")
      list(APPEND values ${value})
    endforeach()
    list(JOIN instance "," instance)
    list(JOIN values ", " values)
    list(LENGTH instances_of_${name} index)
    list(APPEND instances_of_${name} "${instance}")
    list(APPEND carried_names ${name})
    string(APPEND carried_rows "    {gpu::kKernel_${name}, \"bp_${name}_${index}\", {${values}}},\n")
  endforeach()
  list(REMOVE_DUPLICATES carried_names)
  string(REPLACE ";" "|" folders "${cuda_dir}/kernels;${BP_GPU_KERNEL_FOLDERS}")
  set(parts "")
  foreach(name IN LISTS carried_names)
    list(JOIN instances_of_${name} "|" instances)
    list(JOIN definitions_of_${name} "+" definitions)
    if(definitions)
      set(definitions "+${definitions}")
    endif()
    set(cu ${generated}/carried_${name}.cu)
    add_custom_command(OUTPUT ${cu}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
      COMMAND ${CMAKE_COMMAND} -DCOMPILER=${CMAKE_C_COMPILER} -DFILE=${shared_kernels}/${source_of_${name}}.kernel -DOUTPUT=${cu} "-DFOLDERS=${folders}"
        "-DVARIANTS=${name}+EXACT+AS_TEXT+BUFFERS${definitions}" "-DINSTANCES=${instances}" -P ${cuda_dir}/translate.cmake
      DEPENDS ${shared_kernels}/${source_of_${name}}.kernel ${cuda_kernels} ${BP_GPU_KERNEL_HEADERS} ${cuda_dir}/translate.cmake
      COMMENT "Kernel ${name} in CUDA C++" VERBATIM)
    list(APPEND parts ${cu})
  endforeach()
  list(JOIN parts "|" joined)
  list(JOIN machines "|" joined_machines)
  set(carried_text ${generated}/carried.inc)
  add_custom_command(OUTPUT ${carried_text}
    COMMAND ${CMAKE_COMMAND} -DNVCC=${BP_NVCC} "-DFILES=${joined}" "-DMACHINES=${joined_machines}" -DOUTPUT=${carried_text}
      -P ${CMAKE_CURRENT_SOURCE_DIR}/carry.cmake
    DEPENDS ${parts} ${CMAKE_CURRENT_SOURCE_DIR}/carry.cmake ${cuda_dir}/machine_code.cmake
    COMMENT "Machine code for NVIDIA's OpenCL" VERBATIM)
  set(carried_code "#include \"${carried_text}\"\n")
else()
  message(STATUS "Backend opencl: without machine code for NVIDIA's chips, which nvcc has to compile (NVIDIA's CUDA toolkit, 12 or later)")
endif()
file(CONFIGURE OUTPUT ${generated}/carried_kernels.cpp CONTENT
"// Generated from carried.cmake.
#include <iterator>
#include \"carried_code.hpp\"
#include \"kernels_generated.h\"
@carried_code@namespace backplane::opencl {
namespace {
constexpr CarriedKernel kernels[] = {
@carried_rows@    {}};
constexpr CarriedCode codes[] = {
#if defined(BP_CARRIED_CODES)
    BP_CARRIED_CODES
#endif
    {}};
}  // namespace
const std::span<const CarriedKernel> kCarriedKernels{kernels, std::size(kernels) - 1};
const std::span<const CarriedCode> kCarriedCodes{codes, std::size(codes) - 1};
const uint32_t kCarriedDriver = @carried_driver@;
}  // namespace backplane::opencl
" @ONLY)
set_source_files_properties(${generated}/carried_kernels.cpp PROPERTIES OBJECT_DEPENDS "${carried_text}")
