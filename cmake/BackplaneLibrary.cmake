# The library as one shared file, alone or inside a product's own.

# bp_export_only(TARGET MAP): the shared library TARGET exports what the version script MAP names, and its own calls stay inside it. Else
# templates of the C++ library would be exported as unique symbols, which are shared with other copies of Backplane in the process and
# keep the file mapped after dlclose(); and a copy that was loaded before could take calls of this one.
function(bp_export_only target map)
  if(NOT APPLE AND NOT WIN32)
    target_link_options(${target} PRIVATE -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--version-script=${map})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
  endif()
endfunction()

# bp_product(NAME [SOURCES ...] [MAP file] [WITHOUT layer ...]): a shared library that contains all of Backplane, as a product makes one of
# the static library. Made of the objects of this build but for the layers of WITHOUT, which the caller brings compiled in another way.
function(bp_product name)
  cmake_parse_arguments(P "" "MAP" "SOURCES;WITHOUT" ${ARGN})
  get_property(objects GLOBAL PROPERTY BP_LIBRARY_OBJECTS)
  foreach(layer IN LISTS P_WITHOUT)
    list(REMOVE_ITEM objects $<TARGET_OBJECTS:bp_${layer}>)
  endforeach()
  add_library(${name} SHARED ${P_SOURCES} ${objects})
  target_link_libraries(${name} PRIVATE bp_options ${CMAKE_DL_LIBS} Threads::Threads)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  if(NOT P_MAP)
    set(P_MAP ${PROJECT_SOURCE_DIR}/cmake/library.map)
  endif()
  bp_export_only(${name} ${P_MAP})
endfunction()
