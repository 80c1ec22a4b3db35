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
endfunction()

# heddle_test(<folder> SOURCES ... LINK ...): one doctest executable per folder under tests/, run by CTest.
function(heddle_test folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
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
  heddle_cold_code(${target})
  add_test(NAME ${folder} COMMAND ${target})
endfunction()
