# The target `folder`: one folder for Linux that runs from wherever it is unpacked, and its archive, build/PRESET/folder/*.tar.gz. docs/packaging.md.
if(NOT TARGET backplane_cli OR NOT TARGET module_cpu OR NOT BACKPLANE_LINK STREQUAL "dynamic" OR BACKPLANE_SHARED OR BACKPLANE_SANITIZE OR
   NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR CMAKE_CROSSCOMPILING)
  return()
endif()
# The command line once more: where its libraries are, and those that they need, is said in it.
get_property(objects GLOBAL PROPERTY BP_CLI_OBJECTS)
get_target_property(libraries backplane_cli LINK_LIBRARIES)
add_executable(backplane_in_folder EXCLUDE_FROM_ALL ${objects})
target_link_libraries(backplane_in_folder PRIVATE ${libraries})
target_link_options(backplane_in_folder PRIVATE -Wl,--disable-new-dtags)
set(BP_FOLDER ${PROJECT_BINARY_DIR}/folder)
set_target_properties(backplane_in_folder PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME backplane RUNTIME_OUTPUT_DIRECTORY ${BP_FOLDER}/program
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
set(in_folder backplane_probe)
foreach(backend cpu reference cuda vulkan opencl ggml)
  if(TARGET module_${backend})
    list(APPEND in_folder module_${backend})
  endif()
endforeach()
set(files "")
foreach(target IN LISTS in_folder)
  list(APPEND files $<TARGET_FILE:${target}>)
endforeach()
string(TOLOWER "backplane-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}" name)
set(make_folder ${PROJECT_SOURCE_DIR}/packaging/folder/make-folder ${BP_FOLDER} ${name} ${CMAKE_STRIP} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/share
  $<TARGET_FILE:backplane_in_folder> ${files})
add_custom_target(folder COMMAND ${make_folder} DEPENDS backplane_in_folder backplane_cli ${in_folder} VERBATIM)
if(BACKPLANE_TESTS)
  set_target_properties(backplane_in_folder PROPERTIES EXCLUDE_FROM_ALL OFF)
  add_test(NAME Install.AFolderThatRunsFromAnywhere
    COMMAND ${PROJECT_SOURCE_DIR}/tests/install/folder_test.sh ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/folder-test ${name} ${make_folder})
  set_tests_properties(Install.AFolderThatRunsFromAnywhere PROPERTIES TIMEOUT 300)
endif()
