// SPDX-License-Identifier: Apache-2.0
//! Runs an artifact of byoc with Rust's standard library alone.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};

#[link(name = "dl")]
extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn dlerror() -> *const c_char;
}
const RTLD_NOW: c_int = 2;

// ---- byoc/artifact.h, as far as it is used here ----

const ABI: u32 = 1;

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
    struct_size: u32,
    abi_version: u32,
    model_name: *const c_char,
    input_count: u32,
    output_count: u32,
    inputs: *const TensorInfo,
    outputs: *const TensorInfo,
    workspace_size_bytes: u64,
    constants_size_bytes: u64,
    metadata: *const c_char,
    metadata_size_bytes: u64,
    check: extern "C" fn(*mut c_char, u64) -> i32,
    create: extern "C" fn(*const c_void, *mut *mut c_void) -> i32,
    run: extern "C" fn(*mut c_void, *const *const c_void, *const *mut c_void) -> i32,
    destroy: extern "C" fn(*mut c_void),
    last_error: extern "C" fn(*const c_void) -> *const c_char,
}

const F32: u32 = 1; // byoc/dtype.h

// ---- a model, and a context for one thread ----

struct Model {
    library: *mut c_void,
    artifact: &'static Artifact,
}

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

impl Model {
    fn load(path: &str) -> Result<Model, String> {
        let path = CString::new(path).map_err(|error| error.to_string())?;
        unsafe {
            let library = dlopen(path.as_ptr(), RTLD_NOW);
            if library.is_null() {
                return Err(text(dlerror()));
            }
            let symbol = dlsym(library, b"byoc_artifact_entry\0".as_ptr().cast());
            if symbol.is_null() {
                dlclose(library);
                return Err("the file is not an artifact".into());
            }
            let entry: extern "C" fn(u32) -> *const Artifact = std::mem::transmute(symbol);
            match entry(ABI).as_ref() {
                Some(artifact) => Ok(Model { library, artifact }),
                None => {
                    dlclose(library);
                    Err("the artifact is of another version".into())
                }
            }
        }
    }

    fn inputs(&self) -> &[TensorInfo] {
        unsafe { std::slice::from_raw_parts(self.artifact.inputs, self.artifact.input_count as usize) }
    }

    fn outputs(&self) -> &[TensorInfo] {
        unsafe { std::slice::from_raw_parts(self.artifact.outputs, self.artifact.output_count as usize) }
    }

    fn context(&self) -> Result<Context<'_>, String> {
        let mut raw = std::ptr::null_mut();
        match (self.artifact.create)(std::ptr::null(), &mut raw) {
            0 => Ok(Context { model: self, raw }),
            _ => Err(text((self.artifact.last_error)(std::ptr::null()))),
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { dlclose(self.library) };
    }
}

struct Context<'a> {
    model: &'a Model,
    raw: *mut c_void,
}

impl Context<'_> {
    /// Runs a model of one input and one output, both of f32.
    fn run(&mut self, input: &[f32], output: &mut [f32]) -> Result<(), String> {
        let (x, y) = (&self.model.inputs()[0], &self.model.outputs()[0]);
        if std::mem::size_of_val(input) as u64 != x.size_bytes || std::mem::size_of_val(output) as u64 != y.size_bytes {
            return Err("the sizes are not those of the model".into());
        }
        let inputs = [input.as_ptr().cast::<c_void>()];
        let outputs = [output.as_mut_ptr().cast::<c_void>()];
        match (self.model.artifact.run)(self.raw, inputs.as_ptr(), outputs.as_ptr()) {
            0 => Ok(()),
            _ => Err(text((self.model.artifact.last_error)(self.raw))),
        }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        (self.model.artifact.destroy)(self.raw);
    }
}

fn classify(path: &str) -> Result<String, String> {
    let model = Model::load(path)?;
    let ports = [model.inputs(), model.outputs()];
    if ports.iter().any(|port| port.len() != 1 || port[0].dtype != F32 || port[0].size_bytes == 0) {
        return Err("the model does not take one tensor of f32 and make one".into());
    }
    let image: Vec<f32> = (0..model.inputs()[0].size_bytes / 4).map(|i| (i % 28) as f32 / 28.0).collect();
    let mut scores = vec![0.0; model.outputs()[0].size_bytes as usize / 4];
    model.context()?.run(&image, &mut scores)?;
    let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
    let name = text(model.artifact.model_name);
    Ok(format!("{name}: {} floats to {}, the likeliest is {best}", image.len(), scores.len()))
}

fn main() -> std::process::ExitCode {
    let path = std::env::args().nth(1).unwrap_or("./lenet.so".into());
    match classify(&path) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("{error}");
            return std::process::ExitCode::FAILURE;
        }
    }
    std::process::ExitCode::SUCCESS
}
