//! A compiled function of Phintys in a Rust program: the state of a filter, updated by each call.
//!
//!     python -m phintys export examples/exported.py:smoother out --kind static
//!     rustc -L out -o smoother_in_rust examples/exported.rs && ./smoother_in_rust

use std::ffi::{c_char, c_void, CStr};
use std::ptr;

#[link(name = "smoother", kind = "static")]
#[link(name = "m")]
extern "C" {
    fn smoother(
        args: *const *const c_void,
        dims: *const i64,
        results: *const *mut c_void,
        capacities: *const i64,
        shapes: *mut i64,
        numbers: *mut i64,
        state: *mut c_void,
        work: *mut c_void,
        work_bytes: i64,
    ) -> i32;
    fn smoother_message(code: i32) -> *const c_char;
    fn smoother_state_bytes() -> i64;
    fn smoother_state_init(state: *mut c_void);
}

/// The filter, with a state of its own.
struct Smoother {
    state: Vec<u64>, // aligned to 8 bytes
}

impl Smoother {
    fn new() -> Self {
        let bytes = unsafe { smoother_state_bytes() } as usize;
        let mut state = vec![0u64; (bytes + 7) / 8];
        unsafe { smoother_state_init(state.as_mut_ptr().cast()) };
        Smoother { state }
    }

    fn step(&mut self, samples: &[f64; 3]) -> Result<([f64; 3], f64), String> {
        let (mut level, mut loss) = ([0.0; 3], 0.0);
        let args: [*const c_void; 1] = [samples.as_ptr().cast()];
        let results: [*mut c_void; 2] = [level.as_mut_ptr().cast(), (&mut loss as *mut f64).cast()];
        let code = unsafe {
            smoother(
                args.as_ptr(),
                ptr::null(),
                results.as_ptr(),
                ptr::null(),
                ptr::null_mut(),
                ptr::null_mut(),
                self.state.as_mut_ptr().cast(),
                ptr::null_mut(),
                0,
            )
        };
        if code == 0 {
            return Ok((level, loss));
        }
        let message = unsafe { CStr::from_ptr(smoother_message(code)) };
        Err(message.to_string_lossy().into_owned())
    }
}

fn main() -> Result<(), String> {
    let mut smoother = Smoother::new();
    for _ in 0..3 {
        let (level, loss) = smoother.step(&[1.0, 2.0, 4.0])?;
        println!("{:.6} {:.6} {:.6}, {:.6}", level[0], level[1], level[2], loss);
    }
    Ok(())
}
