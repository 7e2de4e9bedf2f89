# backplane_module(NAME SOURCES ... [LIBS ...] [OBJECTS ...] [DESCRIPTOR "{json}"] [FLAGS UNLOADABLE JIT])
#
# The descriptor is the JSON file descriptor.json beside the CMakeLists.txt that calls this; @PROJECT_VERSION@ and other variables in it are
# replaced. DESCRIPTOR gives the text itself instead.
#
# Builds one backend. Its code defines `const bp_module_api *backplane_NAME(uint32_t host_abi)`. From the same objects this
# makes either a module file (object + generated export.c with the note and the exported entry) or a linked-in module (an entry
# of the generated table). Also for authors outside this tree: find_package(backplane) provides it.
set_property(GLOBAL PROPERTY BP_LINKED_IN "")
set_property(GLOBAL PROPERTY BP_MODULES "")  # files, for backplane_copy_modules()
set(BP_MODULE_TEMPLATES ${CMAKE_CURRENT_LIST_DIR})

function(backplane_module name)
  cmake_parse_arguments(M "" "DESCRIPTOR" "SOURCES;LIBS;OBJECTS;FLAGS" ${ARGN})
  set(flags 0)
  foreach(flag IN LISTS M_FLAGS)
    string(APPEND flags " | BP_NOTE_${flag}")
  endforeach()
  if(BACKPLANE_SANITIZE)
    string(APPEND flags " | BP_NOTE_SANITIZER")
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    string(APPEND flags " | BP_NOTE_DEBUG")
  endif()
  if(NOT M_DESCRIPTOR)
    set(descriptor_file ${CMAKE_CURRENT_SOURCE_DIR}/descriptor.json)
    if(NOT EXISTS ${descriptor_file})
      message(FATAL_ERROR "backplane_module(${name}): no descriptor: write ${descriptor_file} or give DESCRIPTOR \"{json}\"")
    endif()
    configure_file(${descriptor_file} ${CMAKE_CURRENT_BINARY_DIR}/${name}_descriptor.json @ONLY)
    file(READ ${CMAKE_CURRENT_BINARY_DIR}/${name}_descriptor.json M_DESCRIPTOR)
  endif()
  string(JSON backend ERROR_VARIABLE mistake GET "${M_DESCRIPTOR}" backend)
  if(mistake)
    message(FATAL_ERROR "backplane_module(${name}): its descriptor is no JSON object with a 'backend': ${mistake}")
  endif()
  string(REGEX REPLACE "[\n ]+" " " descriptor "${M_DESCRIPTOR}")
  string(STRIP "${descriptor}" descriptor)
  string(REPLACE "\\" "\\\\" descriptor "${descriptor}")
  string(REPLACE "\"" "\\\"" descriptor "${descriptor}")
  set(BP_NAME ${name})
  set(BP_FLAGS "${flags}")
  set(BP_DESCRIPTOR "${descriptor}")

  add_library(backend_${name} OBJECT ${M_SOURCES})
  target_link_libraries(backend_${name} PRIVATE bp_options ${M_LIBS})
  target_include_directories(backend_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_features(backend_${name} PRIVATE cxx_std_20)
  set_target_properties(backend_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

  if(BACKPLANE_LINK STREQUAL "static" OR (BACKPLANE_LINK STREQUAL "hybrid" AND name IN_LIST BACKPLANE_HYBRID))
    set_property(GLOBAL APPEND PROPERTY BP_LINKED_IN ${name})
    set_property(GLOBAL PROPERTY BP_LINKED_IN_${name}_DESCRIPTOR "${descriptor}")
    set_property(GLOBAL PROPERTY BP_LINKED_IN_${name}_FLAGS "${flags}")
    set_property(GLOBAL PROPERTY BP_LINKED_IN_${name}_OBJECTS "$<TARGET_OBJECTS:backend_${name}>;${M_OBJECTS}")
    set_property(GLOBAL PROPERTY BP_LINKED_IN_${name}_LIBS "${M_LIBS}")
    return()
  endif()
  configure_file(${BP_MODULE_TEMPLATES}/export.c.in ${CMAKE_CURRENT_BINARY_DIR}/${name}_export.c @ONLY)
  add_library(module_${name} MODULE ${CMAKE_CURRENT_BINARY_DIR}/${name}_export.c $<TARGET_OBJECTS:backend_${name}> ${M_OBJECTS})
  target_link_libraries(module_${name} PRIVATE bp_options ${M_LIBS})
  set_target_properties(module_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME "${BACKPLANE_MODULE_PREFIX}${name}" LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/backplane)
  if(NOT APPLE AND NOT WIN32)
    # The map keeps "unique" symbols of the C++ library's templates inside: one of them exported would be a second export, and
    # would keep the file mapped after dlclose().
    target_link_options(module_${name} PRIVATE -Wl,-z,relro,-z,now -Wl,--gc-sections -Wl,--exclude-libs,ALL
      -Wl,--version-script=${BP_MODULE_TEMPLATES}/module.map)
    if(NOT BACKPLANE_SANITIZE)
      # A function that is in no object and no library named here is found out now, not by the loader of somebody else's machine.
      target_link_options(module_${name} PRIVATE -Wl,-z,defs)
    endif()
    set_property(TARGET module_${name} APPEND PROPERTY LINK_DEPENDS ${BP_MODULE_TEMPLATES}/module.map)
  endif()
  if(NOT TARGET modules)
    add_custom_target(modules)  # all module files
  endif()
  add_dependencies(modules module_${name})
  set_property(GLOBAL APPEND PROPERTY BP_MODULES ${name})
  if(BACKPLANE_INSTALL OR NOT DEFINED BACKPLANE_INSTALL)
    install(TARGETS module_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/backplane COMPONENT module_${name})
  endif()
endfunction()

# The table of linked-in modules; empty in a dynamic build. Sets BP_LINKED_IN_SOURCE, _OBJECTS, _LIBS in the caller.
function(backplane_linked_in)
  get_property(names GLOBAL PROPERTY BP_LINKED_IN)
  set(declare "")
  set(rows "")
  set(objects "")
  set(libs "")
  foreach(name IN LISTS names)
    get_property(descriptor GLOBAL PROPERTY BP_LINKED_IN_${name}_DESCRIPTOR)
    get_property(flags GLOBAL PROPERTY BP_LINKED_IN_${name}_FLAGS)
    get_property(o GLOBAL PROPERTY BP_LINKED_IN_${name}_OBJECTS)
    get_property(l GLOBAL PROPERTY BP_LINKED_IN_${name}_LIBS)
    string(APPEND declare "const bp_module_api *backplane_${name}(uint32_t host_abi);\n")
    string(APPEND rows "    {BP_SIZE(bp_static_module, entry), ${flags}, \"${descriptor}\", backplane_${name}},\n")
    list(APPEND objects ${o})
    list(APPEND libs ${l})
  endforeach()
  list(REMOVE_DUPLICATES objects)  # what backends share
  set(source ${CMAKE_CURRENT_BINARY_DIR}/linked_in_modules.c)
  file(WRITE ${source}.new
    "/* Generated: the modules linked into this build. */\n#include \"backplane/module.h\"\n#include \"backplane/note.h\"\n"
    "${declare}const bp_static_module backplane_linked_in_modules[] = {\n${rows}    {0, 0, NULL, NULL},\n};\n")
  configure_file(${source}.new ${source} COPYONLY)
  set(BP_LINKED_IN_SOURCE ${source} PARENT_SCOPE)
  set(BP_LINKED_IN_OBJECTS "${objects}" PARENT_SCOPE)
  set(BP_LINKED_IN_LIBS "${libs}" PARENT_SCOPE)
endfunction()
