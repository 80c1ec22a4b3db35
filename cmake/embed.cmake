# heddle_embed(<output.cpp> <function> <file>...): makes a source file that defines heddle::<function>(), a list of
# SourceFile, from files given relative to the project's root. Made anew when one of them changes.
function(heddle_embed output function)
  set(inputs ${ARGN})
  list(SORT inputs)
  list(TRANSFORM inputs PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  list(JOIN inputs "|" joined)  # a semicolon would not survive the command line
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${output} -DFUNCTION=${function} -DINPUTS=${joined}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    COMMENT "Embedding files for ${function}()"
    VERBATIM)
endfunction()
