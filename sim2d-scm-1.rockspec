rockspec_format = "3.0"
package = "sim2d"
version = "scm-1"
source = {
  url = "git+file://.", -- luarocks make, in a checkout
}
description = {
  summary = "2D rigid bodies whose contacts are solved exactly as complementarity problems",
  license = "MIT",
}
dependencies = {
  "lua ~> 5.4",
}
external_dependencies = {
  LAPACKE = { header = "lapacke.h" },
  ZLIB = { header = "zlib.h" },
}
build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    S2_LUA_CDIR = "$(LIBDIR)",
    S2_TESTS = "OFF",
  },
}
