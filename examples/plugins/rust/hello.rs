// SPDX-License-Identifier: Apache-2.0
//! hello in Rust: it takes Relu on f32 tensors of known shape and answers with C source.
#[macro_use]
mod byoc;
use byoc::*;
use std::ffi::{CStr, CString};
use std::os::raw::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

#[used]
#[link_section = ".note.byoc"]
static IDENTITY: byoc_plugin_elf_note_t = identity("hello_rust", "1.0", "hello_rust", "Relu as C source, in Rust");

// The host's tables live until the plugin is unloaded. Slots are never NULL in them.
static HOST: AtomicPtr<byoc_host_t> = AtomicPtr::new(std::ptr::null_mut());
fn host() -> &'static byoc_host_t {
    unsafe { &*HOST.load(Ordering::Relaxed) }
}

unsafe extern "C" fn accept(_: *mut c_void, region: *mut byoc_region_t) -> i32 {
    let (graph, api) = (&*host().graph, &*host().region);
    let decline = |reason| api.decline.unwrap()(region, reason);
    let x = api.value.unwrap()(region, c!("x"));
    if graph.value_dtype.unwrap()(x) != BYOC_DTYPE_F32 {
        return decline(c!("x is not f32"));
    }
    if graph.value_element_count.unwrap()(x) < 0 {
        return decline(c!("x has no static shape"));
    }
    1
}

unsafe extern "C" fn generate(_: *mut c_void, codegen: *mut byoc_codegen_t, function: *mut byoc_function_t) -> i32 {
    let (graph, api) = (&*host().graph, &*host().codegen);
    let symbol = graph.function_symbol.unwrap()(function);
    let count = graph.value_element_count.unwrap()(graph.parameter.unwrap()(function, 0));
    let source = CString::new(format!(
        "#include \"byoc/call.h\"
BYOC_PACKED int32_t {}(const byoc_call_t *call) {{
  const float *x = (const float *)call->tensors[0].data;
  float *y = (float *)call->tensors[1].data;
  for (long i = 0; i < {}; ++i) y[i] = x[i] < 0 ? 0 : x[i];
  return BYOC_OK;
}}
",
        CStr::from_ptr(symbol).to_str().unwrap(),
        count
    ))
    .unwrap();
    let module = byoc_c_source_t {
        header: header::<byoc_c_source_t>(),
        name: symbol,
        source: source.as_ptr(), // the host copies it before the call returns
        symbols: byoc_text_list_t { items: &symbol, count: 1 },
        ..std::mem::zeroed()
    };
    let status = api.add_c_source.unwrap()(codegen, &module);
    if status != BYOC_OK as i32 {
        return status;
    }
    let binding = byoc_packed_binding_t { header: header::<byoc_packed_binding_t>(), ..std::mem::zeroed() };
    api.bind_packed.unwrap()(codegen, function, &binding)
}

/// Lives until the plugin is unloaded, because the host keeps pointers into it.
struct Tables {
    rules: [byoc_rule_t; 1],
    backend: byoc_backend_t,
    backends: [*const byoc_backend_t; 1],
}

unsafe extern "C" fn destroy(tables: *mut c_void) {
    drop(Box::from_raw(tables as *mut Tables));
}

#[no_mangle]
pub unsafe extern "C" fn byoc_plugin_query(host: *const byoc_host_t, out_plugin: *mut byoc_plugin_t) -> i32 {
    HOST.store(host as *mut byoc_host_t, Ordering::Relaxed);
    let mut tables: Box<Tables> = Box::new(std::mem::zeroed());
    tables.rules[0] = byoc_rule_t {
        header: header::<byoc_rule_t>(),
        name: c!("hello_rust.relu"),
        pattern: c!("Relu(%x)"),
        accept: Some(accept),
        ..std::mem::zeroed()
    };
    tables.backend = byoc_backend_t {
        header: header::<byoc_backend_t>(),
        target: c!("hello_rust"),
        description: c!("Relu as C source, in Rust"),
        rules: tables.rules.as_ptr(),
        rule_count: 1,
        rule_stride: std::mem::size_of::<byoc_rule_t>() as u32,
        generate_function: Some(generate),
        ..std::mem::zeroed()
    };
    tables.backends[0] = &tables.backend;
    let plugin = &mut *out_plugin;
    plugin.backends = tables.backends.as_ptr();
    plugin.backend_count = 1;
    plugin.destroy = Some(destroy);
    plugin.self_ = Box::into_raw(tables) as *mut c_void;
    BYOC_OK as i32
}
