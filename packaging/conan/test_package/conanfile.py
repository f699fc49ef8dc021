# SPDX-License-Identifier: MIT
"""Programs on the package: two instances exchange a stream over TCP; what stands on the core does its first steps."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


class TenonTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.generate()
        CMakeDeps(self).generate()
        for program in ("exchange.c", "parts.c", "ports.c"):
            copy(self, program, os.path.join(ROOT, "tests", "build"), self.build_folder)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            ports = ["ports"] if self.dependencies["tenon"].options.get_safe("ports") else []
            for program in ("exchange", "parts", "wrapped", *ports):
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
