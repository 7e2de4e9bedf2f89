# Debian packages, by `cpack -G DEB` in the build folder: the C API in a shared library with the program that tries modules, modules one by one, the command
# line, and what programs are built with. Of this build: nothing is compiled for them. docs/packaging.md.
if(WIN32 AND BACKPLANE_TOOLS AND BACKPLANE_LINK STREQUAL "dynamic" AND NOT BACKPLANE_SHARED)
  include(BackplaneZip)
  return()
endif()
if(NOT TARGET bindings_library OR NOT BACKPLANE_TOOLS OR NOT BACKPLANE_LINK STREQUAL "dynamic" OR BACKPLANE_SHARED)
  return()
endif()
set(BACKPLANE_PACKAGER "Backplane <packages@backplane.invalid>" CACHE STRING "Name and address that packages give for whoever made them")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME backplane)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds, judges, loads and drives compute backends")
set(CPACK_PACKAGE_CONTACT "${BACKPLANE_PACKAGER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/BackplaneDebian.cmake)
set(CPACK_BACKPLANE_SOURCE ${PROJECT_SOURCE_DIR})

# bp_package(COMPONENT NAME SECTION "summary" "more, a sentence" [DEPENDS text] [RECOMMENDS text])
set(CPACK_COMPONENTS_ALL "")
macro(bp_package component name section summary more)
  cmake_parse_arguments(P "" "DEPENDS;RECOMMENDS" "" ${ARGN})
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${more}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${P_DEPENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${P_RECOMMENDS}")
endmacro()
set(own "libbackplane-models0 (= ${PROJECT_VERSION})")
bp_package(runtime libbackplane-models0 libs "compute backends for applications: library"
  "Finds the compute devices of the machine through modules and runs networks\non them: graphs, ONNX files, speech, pictures. This package has the library\nwith its C API, and the program that tries modules in a process of its own."
  RECOMMENDS backplane-module-cpu)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs
  "libbackplane_models ${PROJECT_VERSION_MAJOR} libbackplane-models${PROJECT_VERSION_MAJOR} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers ${PROJECT_BINARY_DIR}/debian/shlibs)
foreach(row "cpu|processors||libc6" "reference|float64 on the processor, to check others||libc6" "cuda|NVIDIA's GPUs, over the driver alone|libcuda1|libc6"
    "vulkan|GPUs with Vulkan|libvulkan1, mesa-vulkan-drivers" "opencl|devices with OpenCL|ocl-icd-libopencl1" "ggml|whatever stock modules of ggml drive|")
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 name)
  list(GET row 1 drives)
  list(GET row 2 driver)
  if(TARGET module_${name})
    bp_package(module_${name} backplane-module-${name} libs "compute backends for applications: ${name}" "A module of Backplane for ${drives}."
      DEPENDS "${own}" RECOMMENDS "${driver}")
  endif()
endforeach()
bp_package(tools backplane-tools science "compute backends for applications: command line"
  "Explains which devices there are and why, upscales pictures, writes down\nspeech, runs ONNX files, fetches networks, checks folders for packagers."
  DEPENDS "${own}" RECOMMENDS "backplane-module-cpu, curl")
bp_package(development libbackplane-dev libdevel "compute backends for applications: development files"
  "Headers for C and C++, static libraries, files for CMake and pkg-config,\nand the crates for Rust."
  DEPENDS "${own}, libpng-dev, libjpeg-dev, libsndfile1-dev, libsamplerate0-dev")
include(CPack)
