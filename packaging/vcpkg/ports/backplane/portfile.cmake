# Of the sources that this folder lies in, or of those that BACKPLANE_VCPKG_SOURCE names (docs/packaging.md).
set(SOURCE_PATH "$ENV{BACKPLANE_VCPKG_SOURCE}")
if(NOT SOURCE_PATH)
  get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
endif()
if(NOT EXISTS "${SOURCE_PATH}/include/backplane/module.h")
  message(FATAL_ERROR "'${SOURCE_PATH}' holds no sources of Backplane: let BACKPLANE_VCPKG_SOURCE name their folder (and VCPKG_KEEP_ENV_VARS that variable)")
endif()

# Module files or everything in one library: the triplet says so, by BACKPLANE_LINK; else as it has libraries.
if(NOT DEFINED BACKPLANE_LINK)
  set(BACKPLANE_LINK dynamic)
  if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    set(BACKPLANE_LINK static)
  endif()
endif()
set(shared OFF)
if(VCPKG_LIBRARY_LINKAGE STREQUAL "dynamic")
  set(shared ON)
endif()
if(NOT BACKPLANE_LINK STREQUAL "static")
  set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled)  # module files are no import libraries' other half
  set(VCPKG_POLICY_ALLOW_DLLS_IN_LIB enabled)       # lib/backplane, where they are found
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES
  models BACKPLANE_MODELS
  images BACKPLANE_IMAGES
  audio BACKPLANE_AUDIO
  tools BACKPLANE_TOOLS)
set(backends "")
foreach(backend reference cpu cuda vulkan opencl ggml)
  if(backend IN_LIST FEATURES)
    list(APPEND backends ${backend})
  endif()
endforeach()
if(NOT backends)
  message(FATAL_ERROR "no backend is asked for: add one of the features cpu, cuda, vulkan, opencl, ggml, reference")
endif()
# A program that is being debugged loads the module files of the release, which are C at their border; what is linked in is each its own.
set(debugged "${backends}")
if(BACKPLANE_LINK STREQUAL "hybrid")
  set(debugged "${BACKPLANE_HYBRID}")
  list(APPEND options "-DBACKPLANE_HYBRID=${BACKPLANE_HYBRID}")
elseif(BACKPLANE_LINK STREQUAL "dynamic")
  set(debugged none)
endif()
if("vulkan" IN_LIST FEATURES)
  list(APPEND options "-DBP_GLSLC=${CURRENT_HOST_INSTALLED_DIR}/tools/shaderc/glslc${VCPKG_HOST_EXECUTABLE_SUFFIX}")
endif()
string(REPLACE ";" "," backends "${backends}")
string(REPLACE ";" "," debugged "${debugged}")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${options} -DBACKPLANE_LINK=${BACKPLANE_LINK} -DBACKPLANE_SHARED=${shared} -DBACKPLANE_TESTS=OFF -DBACKPLANE_GGML_COMPAT=OFF
    -DBACKPLANE_BINDINGS=OFF -DBACKPLANE_UNITY=ON
  OPTIONS_RELEASE -DBACKPLANE_BACKENDS=${backends}
  OPTIONS_DEBUG -DBACKPLANE_BACKENDS=${debugged} -DBACKPLANE_TOOLS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME backplane CONFIG_PATH lib/cmake/backplane)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES backplane AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/debug/lib/backplane"
  "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
