// SPDX-License-Identifier: Apache-2.0
//! The tables of include/byoc as bindgen reads them, and functions for those macros that it cannot read.
#![allow(dead_code, non_camel_case_types, non_upper_case_globals, clippy::all)]
include!(env!("BYOC_BINDINGS"));

/// A text as C wants it.
macro_rules! c {
    ($text:literal) => {
        concat!($text, "\0").as_ptr() as *const std::os::raw::c_char
    };
}

/// BYOC_HEADER: every struct that crosses the boundary starts with its own size.
pub const fn header<T>() -> byoc_header_t {
    byoc_header_t { struct_size: std::mem::size_of::<T>() as u32, struct_version: 1 }
}

const fn text<const N: usize>(from: &str) -> [std::os::raw::c_char; N] {
    assert!(from.len() < N, "the text is too long for its field of the identity note");
    let mut field = [0; N];
    let mut i = 0;
    while i < from.len() {
        field[i] = from.as_bytes()[i] as std::os::raw::c_char;
        i += 1;
    }
    field
}

/// BYOC_PLUGIN_IDENTITY: put it into a `#[link_section = ".note.byoc"] #[used] static`.
pub const fn identity(name: &str, version: &str, targets: &str, description: &str) -> byoc_plugin_elf_note_t {
    byoc_plugin_elf_note_t {
        name_size: BYOC_PLUGIN_NOTE_OWNER.len() as u32,
        descriptor_size: std::mem::size_of::<byoc_plugin_note_t>() as u32,
        type_: BYOC_PLUGIN_NOTE_TYPE,
        owner: text("byoc"),
        descriptor: byoc_plugin_note_t {
            struct_size: std::mem::size_of::<byoc_plugin_note_t>() as u32,
            abi_major: BYOC_ABI_MAJOR,
            abi_minor_built: BYOC_ABI_MINOR,
            abi_minor_needed: 0,
            name: text(name),
            version: text(version),
            targets: text(targets),
            description: text(description),
        },
    }
}
