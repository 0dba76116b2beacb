# The themes that ship, against the roles of the screen.
if(EXISTS ${PROJECT_SOURCE_DIR}/tui/full/theme.c)
  proctor_test(unit tui_themes SOURCES test_tui_themes.c LINK front record base test_support)
  target_link_libraries(test_tui_themes PRIVATE m)
endif()
