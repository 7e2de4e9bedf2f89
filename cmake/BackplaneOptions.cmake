# bp_options: what every target of this project is compiled with.
find_package(Threads REQUIRED)
add_library(bp_options INTERFACE)
target_compile_options(bp_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(bp_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)  # false alarms on std::string (GCC PR 105651)
endif()
target_compile_features(bp_options INTERFACE cxx_std_20)
target_include_directories(bp_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
if(WIN32)
  target_link_libraries(bp_options INTERFACE synchronization)
  target_compile_definitions(bp_options INTERFACE _WIN32_WINNT=0x0A00)  # Windows 10: the oldest that Microsoft still speaks of
endif()
if(BACKPLANE_SANITIZE)
  target_compile_options(bp_options INTERFACE -fsanitize=${BACKPLANE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(bp_options INTERFACE -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/sanitizers.ignore)
  endif()
  target_link_options(bp_options INTERFACE -fsanitize=${BACKPLANE_SANITIZE})
endif()
if(BACKPLANE_FUZZ)
  target_compile_options(bp_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# bp_unity(TARGET... [BATCH n]): the sources of these targets are compiled n at a time. Most of what compiling one file costs is reading
# headers, so that a whole build takes a third of the time; changing one file costs as much as its batch. The preset `debug`, which
# developers and tools use, compiles each file by itself.
option(BACKPLANE_UNITY "Compile several sources at a time" OFF)
function(bp_unity)
  if(BACKPLANE_UNITY)
    cmake_parse_arguments(U "" "BATCH" "" ${ARGN})
    if(NOT U_BATCH)
      set(U_BATCH 12)
    endif()
    set_target_properties(${U_UNPARSED_ARGUMENTS} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${U_BATCH})
  endif()
endfunction()
# These sources stay alone: names that other files of the target have too, or a generated file that must wait for what it includes.
function(bp_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# bp_test(NAME SOURCES ... LAYERS ... LIBS ...): one GoogleTest executable, its cases known to CTest one by one. LAYERS are
# folders of src/ whose objects are linked directly, so that a layer is tested without those above it.
function(bp_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LAYERS;LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${T_SOURCES})
  bp_unity(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  foreach(layer IN LISTS T_LAYERS)
    target_link_libraries(${name} PRIVATE bp_${layer})
  endforeach()
  target_link_libraries(${name} PRIVATE bp_options ${T_LIBS} bp_test_support GTest::gtest GTest::gtest_main ${CMAKE_DL_LIBS} Threads::Threads)
  target_compile_definitions(${name} PRIVATE
    BP_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BP_TEST_BINARY_DIR="${PROJECT_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
