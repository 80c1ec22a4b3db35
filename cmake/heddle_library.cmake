# heddle_library(<folder> SOURCES ... PUBLIC ... PRIVATE ...): the static library heddle_<folder>, alias
# heddle::<folder>. The link order kernels <- profiles <- runtime <- tuner <- cli shows a wrong dependency.
function(heddle_target_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  if(HEDDLE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# Code whose speed does not matter, where -O3 would only cost compile time.
function(heddle_cold_code target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# heddle_compile_folders(<target> <source>...): compiles sources of the target that lie in one folder together, as a unity
# build, if HEDDLE_COMPILE_FOLDERS is set. Names must therefore be unique in a folder, in anonymous namespaces too.
function(heddle_compile_folders target)
  if(NOT HEDDLE_COMPILE_FOLDERS)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} generated)
    if(generated)
      continue()
    endif()
    cmake_path(GET path PARENT_PATH path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${path} group)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

function(heddle_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(target heddle_${folder})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(heddle::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  heddle_target_options(${target})
  heddle_compile_folders(${target} ${arg_SOURCES})
endfunction()

# heddle_test(<folder> SOURCES ... LINK ... PROPERTIES ...): one doctest executable per folder under tests/. Every test case
# is a test of CTest's, "<folder>: <test case>", with these properties.
function(heddle_test folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;PROPERTIES")
  set(target test_${folder})
  if(NOT TARGET heddle_test_main)
    add_library(heddle_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cpp)
    target_link_libraries(heddle_test_main PUBLIC doctest::doctest)
    heddle_cold_code(heddle_test_main)
  endif()
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} heddle_test_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  heddle_target_options(${target})
  heddle_compile_folders(${target} ${arg_SOURCES})
  heddle_cold_code(${target})
  # 77: see tests/skip.hpp.
  doctest_discover_tests(${target} TEST_PREFIX "${folder}: " PROPERTIES SKIP_RETURN_CODE 77 ${arg_PROPERTIES})
endfunction()
