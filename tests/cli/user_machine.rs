// SPDX-License-Identifier: Apache-2.0
//! What user_machine.c does, in Rust: the model is linked in under the name `model` and has one input and one output.
use std::os::raw::{c_char, c_void};

// byoc/artifact.h, as far as it is used here.
#[repr(C)]
struct TensorInfo {
    name: *const c_char,
    dtype: u32,
    rank: u32,
    dims: *const i64,
    dim_names: *const *const c_char,
    size_bytes: u64,
}

#[repr(C)]
struct Artifact {
    sizes: [u32; 2],
    model_name: *const c_char,
    input_count: u32,
    output_count: u32,
    inputs: *const TensorInfo,
    outputs: *const TensorInfo,
    bytes: [u64; 2],
    metadata: *const c_char,
    metadata_size_bytes: u64,
    check: extern "C" fn(*mut c_char, u64) -> i32,
    create: extern "C" fn(*const c_void, *mut *mut c_void) -> i32,
    run: extern "C" fn(*mut c_void, *const *const c_void, *const *mut c_void) -> i32,
    destroy: extern "C" fn(*mut c_void),
}

extern "C" {
    fn model_artifact_entry(abi_version: u32) -> *const Artifact;
}

fn main() {
    let table = unsafe { &*model_artifact_entry(1) };
    let size_of = |info: *const TensorInfo| unsafe { (*info).size_bytes as usize / 4 };
    let mut seed = 1u32;
    let image: Vec<f32> = (0..size_of(table.inputs))
        .map(|_| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 16) as i32 as f32 / 32768.0 - 1.0
        })
        .collect();
    let mut scores = vec![0f32; size_of(table.outputs)];
    let mut context = std::ptr::null_mut();
    let inputs = [image.as_ptr() as *const c_void];
    let outputs = [scores.as_mut_ptr() as *mut c_void];
    assert_eq!((table.create)(std::ptr::null(), &mut context), 0);
    assert_eq!((table.run)(context, inputs.as_ptr(), outputs.as_ptr()), 0);
    (table.destroy)(context);
    for score in scores {
        println!("{score:e}");
    }
}
