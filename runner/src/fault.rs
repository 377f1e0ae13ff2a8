//! Classifies failures of an engine or program by their messages: one table with the messages of CUDA, its libraries,
//! PyTorch and the driver:
//!
//! - CUDA runtime: `cudaError_t` and the text of `cudaGetErrorString`
//!   (<https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html>); driver: `CUDA_ERROR_…`
//! - cuBLAS, cuDNN, cuFFT, cuSOLVER, cuSPARSE, cuRAND: the status types of their manuals; NCCL: `ncclResult_t`
//! - PyTorch: `c10/cuda/CUDACachingAllocator.cpp`, `c10/cuda/CUDAException.cpp`, `torch/cuda/__init__.py`
//! - NVML: `nvmlReturn_t` and the text of `nvmlErrorString`; driver: <https://docs.nvidia.com/deploy/xid-errors>
//!
//! Failures that are not in the table may be temporary, and are retried: `ncclSystemError` and `ncclRemoteError`,
//! timeouts, `CUDNN_STATUS_EXECUTION_FAILED`, `CUBLAS_STATUS_EXECUTION_FAILED`, `CUDNN_STATUS_INTERNAL_ERROR`.

/// The failed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is too little memory; a larger GPU may have enough.
    Memory,
    /// The GPU does not work.
    Gpu,
    /// The driver of the node does not fit, or there is none.
    Driver,
    /// An illegal operation of a kernel. Nearly always the program and its inputs cause it; but the process
    /// is broken, and a memory fault has the same symptoms, so it may be tried elsewhere.
    Kernel,
    /// A kernel has checked its inputs and refused them, as it would do anywhere. The process is broken.
    Assertion,
}

const TABLE: &[(Fault, &[&str])] = &[
    // PyTorch: `OutOfMemoryError` of `torch` and `torch.cuda`, also of ROCm; XLA
    (
        Fault::Memory,
        &["OutOfMemoryError", "CUDA out of memory", "HIP out of memory", "RESOURCE_EXHAUSTED: Out of memory"],
    ),
    // PyTorch's allocator, when NVML cannot report the free memory (pytorch/pytorch#112377)
    (Fault::Memory, &["NVML_SUCCESS == r INTERNAL ASSERT FAILED"]),
    // 2 cudaErrorMemoryAllocation, as PyTorch, Triton and NCCL quote it
    (
        Fault::Memory,
        &[
            "CUDA error: out of memory",
            "HIP error: out of memory",
            "[CUDA]: out of memory",
            "'out of memory'",
        ],
    ),
    (Fault::Memory, &["cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY"]),
    // the libraries
    (Fault::Memory, &["CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED", "CUFFT_ALLOC_FAILED"]),
    (
        Fault::Memory,
        &[
            "CUSOLVER_STATUS_ALLOC_FAILED",
            "CUSPARSE_STATUS_ALLOC_FAILED",
            "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES",
        ],
    ),
    (
        Fault::Memory,
        &["CURAND_STATUS_ALLOCATION_FAILED", "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"],
    ),
    (Fault::Memory, &["CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", "CUBLASLT_STATUS_ALLOC_FAILED"]),
    // a handle of cuBLAS and cuDNN takes memory when it is first used (discuss.pytorch.org/t/125450)
    (
        Fault::Memory,
        &["CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate", "CUDNN_STATUS_NOT_INITIALIZED"],
    ),
    // no algorithm finds a workspace: PyTorch, `aten/src/ATen/native/cudnn`
    (Fault::Memory, &["Unable to find a valid cuDNN algorithm to run convolution"]),
    // images/trainer-diffusers
    (Fault::Memory, &["The GPU has not enough free memory for this training"]),
    // of the machine: PyTorch's allocator, C++, Python, POSIX
    (
        Fault::Memory,
        &["DefaultCPUAllocator: can't allocate memory", "DefaultCPUAllocator: not enough memory"],
    ),
    (Fault::Memory, &["std::bad_alloc", "\nMemoryError", "\"MemoryError\"", "Cannot allocate memory"]),
    // NumPy
    (Fault::Memory, &["_ArrayMemoryError"]),
    // TensorFlow: `ResourceExhaustedError`; XLA on one device of several; ONNX Runtime: `bfc_arena.cc`; hipError_t 2
    (
        Fault::Memory,
        &[
            "OOM when allocating tensor",
            "RESOURCE_EXHAUSTED: Failed to allocate",
            "Failed to allocate memory for requested buffer",
            "hipErrorOutOfMemory",
        ],
    ),
    // 46 cudaErrorDevicesUnavailable, 100 cudaErrorNoDevice, 214 cudaErrorECCUncorrectable
    (
        Fault::Gpu,
        &[
            "device(s) is/are busy or unavailable",
            "no CUDA-capable device is detected",
            "uncorrectable ECC error",
        ],
    ),
    // 220 cudaErrorNvlinkUncorrectable, 226 cudaErrorContained, 999 cudaErrorUnknown
    (
        Fault::Gpu,
        &[
            "uncorrectable NVLink error",
            "over nvlink or a hardware error",
            "CUDA error: unknown error",
            "CUDA unknown error",
        ],
    ),
    (Fault::Gpu, &["CUDA_ERROR_ECC_UNCORRECTABLE", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_DEVICE_UNAVAILABLE"]),
    (Fault::Gpu, &["CUDA_ERROR_NVLINK_UNCORRECTABLE", "CUDA_ERROR_UNKNOWN", "CUDA_ERROR_CONTAINED"]),
    // PyTorch and the WebUI without a GPU
    (Fault::Gpu, &["No CUDA GPUs are available", "Torch is not able to use GPU"]),
    // NVML_ERROR_OPERATING_SYSTEM, when the container has no device files any more
    (Fault::Gpu, &["GPU access blocked by the operating system"]),
    // NVML_ERROR_GPU_IS_LOST, NVML_ERROR_RESET_REQUIRED, and `nvidia-smi`; the text of Xid 79
    (
        Fault::Gpu,
        &[
            "GPU is lost",
            "GPU requires reset",
            "Unable to determine the device handle for GPU",
            "fallen off the bus",
        ],
    ),
    // 35 cudaErrorInsufficientDriver, 802 cudaErrorSystemNotReady, 803 cudaErrorSystemDriverMismatch
    (Fault::Driver, &["CUDA driver version is insufficient", "system not yet initialized"]),
    (Fault::Driver, &["unsupported display driver / cuda driver combination"]),
    // 222 cudaErrorUnsupportedPtxVersion, 804 cudaErrorCompatNotSupportedOnDevice
    (
        Fault::Driver,
        &[
            "PTX was compiled with an unsupported toolchain",
            "forward compatibility was attempted on non supported HW",
        ],
    ),
    (
        Fault::Driver,
        &[
            "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            "CUDA_ERROR_SYSTEM_NOT_READY",
            "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        ],
    ),
    // PyTorch, NVML_ERROR_LIB_RM_VERSION_MISMATCH, NVML_ERROR_DRIVER_NOT_LOADED, `nvidia-smi`
    (
        Fault::Driver,
        &[
            "Found no NVIDIA driver",
            "The NVIDIA driver on your system is too old",
            "Driver/library version mismatch",
        ],
    ),
    (Fault::Driver, &["Driver Not Loaded", "couldn't communicate with the NVIDIA driver"]),
    // NVML_ERROR_LIBRARY_NOT_FOUND
    (Fault::Driver, &["NVML Shared Library Not Found"]),
    // 700 cudaErrorIllegalAddress, 716 cudaErrorMisalignedAddress, 715, 717, 718, 714, 719 cudaErrorLaunchFailure, 702
    (
        Fault::Kernel,
        &[
            "an illegal memory access was encountered",
            "misaligned address",
            "an illegal instruction was encountered",
        ],
    ),
    (
        Fault::Kernel,
        &[
            "operation not supported on global/shared address space",
            "invalid program counter",
            "hardware stack error",
        ],
    ),
    (Fault::Kernel, &["unspecified launch failure", "the launch timed out and was terminated"]),
    (
        Fault::Kernel,
        &["CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_MISALIGNED_ADDRESS", "CUDA_ERROR_LAUNCH_FAILED"],
    ),
    (
        Fault::Kernel,
        &["CUDA_ERROR_ILLEGAL_INSTRUCTION", "CUDA_ERROR_LAUNCH_TIMEOUT", "CUDA_ERROR_HARDWARE_STACK_ERROR"],
    ),
    // 710 cudaErrorAssert. Not "device-side assertions", of which PyTorch speaks in each message
    (Fault::Assertion, &["device-side assert triggered", "CUDA_ERROR_ASSERT"]),
];

/// Xid errors after which the GPU must be reset, drained or replaced: double bit errors (48), pages and rows
/// that are retired or remapped, or cannot be (63, 64), NVLink (74), off the bus (79), contained and
/// uncontained errors of the memory (94, 95), the GPU's own processor (119, 120), and unrecovered errors
/// (140).
const XID_OF_GPU: [u32; 10] = [48, 63, 64, 74, 79, 94, 95, 119, 120, 140];
/// Those that programs cause: exceptions of the engines (13), page faults (31), a stopped channel (43).
const XID_OF_KERNEL: [u32; 3] = [13, 31, 43];

/// The fault in the text; the last one if there are several, as errors are printed last.
pub(crate) fn of(text: &str) -> Option<Fault> {
    let rows =
        TABLE.iter().flat_map(|(fault, parts)| parts.iter().map(move |part| (text.rfind(part), *fault)));
    let xids = text.match_indices("Xid (").filter_map(|(at, _)| Some((Some(at), xid(text.get(at..)?)?)));
    rows.chain(xids)
        .filter_map(|(at, fault)| at.map(|at| (at, fault)))
        .max_by_key(|(at, _)| *at)
        .map(|(_, fault)| fault)
}

/// The fault in a line of the driver's log: `Xid (PCI:0000:3b:00): 79, pid=1234, …`.
fn xid(line: &str) -> Option<Fault> {
    let (_, rest) = line.split_once("): ")?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest.get(..digits)?.parse().ok()?;
    if XID_OF_GPU.contains(&number) {
        Some(Fault::Gpu)
    } else {
        XID_OF_KERNEL.contains(&number).then_some(Fault::Kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_of_the_table_has_its_fault() {
        for (fault, parts) in TABLE {
            for part in *parts {
                assert_eq!(of(&format!("Traceback\nRuntimeError: {part} (1)\n")), Some(*fault), "{part}");
            }
        }
        for number in XID_OF_GPU {
            assert_eq!(of(&format!("NVRM: Xid (PCI:0000:3b:00): {number}, pid=1")), Some(Fault::Gpu));
        }
        for number in XID_OF_KERNEL {
            assert_eq!(of(&format!("NVRM: Xid (PCI:0000:3b:00): {number}, pid=1")), Some(Fault::Kernel));
        }
    }

    /// As programs print them.
    #[test]
    fn whole_messages_have_their_faults() {
        let hint = "\nCUDA kernel errors might be asynchronously reported at some other API call.\n\
                    Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n";
        let cases = [
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79 GiB",
                Some(Fault::Memory),
            ),
            (
                r#"{"error":"OutOfMemoryError","detail":"","body":"","errors":"CUDA out of memory."}"#,
                Some(Fault::Memory),
            ),
            (
                "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                Some(Fault::Memory),
            ),
            (
                "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
                Some(Fault::Memory),
            ),
            ("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", Some(Fault::Memory)),
            ("NCCL WARN Cuda failure 2 'out of memory'", Some(Fault::Memory)),
            (
                "RuntimeError: [enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.",
                Some(Fault::Memory),
            ),
            ("OSError: [Errno 12] Cannot allocate memory", Some(Fault::Memory)),
            (
                "ResourceExhaustedError: Graph execution error: OOM when allocating tensor with shape[64,4096,4096] on /GPU:0 by allocator GPU_0_bfc",
                Some(Fault::Memory),
            ),
            (
                "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB on device ordinal 0",
                Some(Fault::Memory),
            ),
            (
                "onnxruntime::BFCArena::AllocateRawInternal(size_t) Failed to allocate memory for requested buffer of size 1073741824",
                Some(Fault::Memory),
            ),
            ("RuntimeError: CUDA error: uncorrectable ECC error encountered", Some(Fault::Gpu)),
            (
                "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
                Some(Fault::Gpu),
            ),
            (
                "NVRM: Xid (PCI:0000:3b:00): 45, pid=1, Ch 0\nNVRM: Xid (PCI:0000:3b:00): 48, pid=1",
                Some(Fault::Gpu),
            ),
            ("RuntimeError: No CUDA GPUs are available", Some(Fault::Gpu)),
            ("CUDA driver version is insufficient for CUDA runtime version", Some(Fault::Driver)),
            ("Failed to initialize NVML: Driver/library version mismatch", Some(Fault::Driver)),
            ("RuntimeError: CUDA error: device-side assert triggered", Some(Fault::Assertion)),
            ("RuntimeError: CUDA error: an illegal memory access was encountered", Some(Fault::Kernel)),
            ("RuntimeError: CUDA error: misaligned address", Some(Fault::Kernel)),
            ("RuntimeError: CUDA error: unspecified launch failure", Some(Fault::Kernel)),
            ("RuntimeError: CUDA error: invalid argument", None),
            (
                "torch.distributed.DistBackendError: NCCL error: ncclRemoteError: A call failed possibly due to a network error",
                None,
            ),
            ("ValueError: steps", None),
            // of several the last
            (
                "CUDA out of memory. Trying half of it.\nRuntimeError: CUDA error: device-side assert triggered",
                Some(Fault::Assertion),
            ),
        ];
        for (text, fault) in cases {
            assert_eq!(of(text), fault, "{text}");
            assert_eq!(of(&format!("{text}{hint}")), fault, "{text}");
        }
    }

    /// Seen with PyTorch 2.11.0+cu130, driver 580.159.04, on an NVIDIA H200, each provoked in a process of its own.
    #[test]
    fn messages_of_a_real_gpu_have_their_faults() {
        let hint = "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n\
                    For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n\
                    Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n\n";
        let accelerator = |what: &str, name: &str| {
            format!(
                "torch.AcceleratorError: CUDA error: {what}\nSearch for `{name}' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n{hint}"
            )
        };
        let cases = [
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9313.23 GiB. GPU 0 has a total capacity of 139.80 GiB of which 94.53 GiB is free. Process 696 has 552.00 MiB memory in use. Including non-PyTorch memory, this process has 518.00 MiB memory in use. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.".to_owned(),
                Some(Fault::Memory),
            ),
            // backend:cudaMallocAsync
            ("torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 0 bytes\nRequested               : 931.32 GiB".to_owned(), Some(Fault::Memory)),
            // another process has all memory
            (accelerator("out of memory", "cudaErrorMemoryAllocation"), Some(Fault::Memory)),
            ("RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 10000000000000000 bytes. Error code 12 (Cannot allocate memory)".to_owned(), Some(Fault::Memory)),
            ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 71.1 PiB for an array with shape (10000000000000000,) and data type float64".to_owned(), Some(Fault::Memory)),
            ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 10,000,000,000,000 bytes (allocated so far: 0 bytes).".to_owned(), Some(Fault::Memory)),
            ("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.64TiB with allocator GPU_0_bfc on device 0.".to_owned(), Some(Fault::Memory)),
            ("numba.cuda.cudadrv.driver.CudaAPIError: [<CUresult.CUDA_ERROR_OUT_OF_MEMORY: 2>] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY".to_owned(), Some(Fault::Memory)),
            (
                format!("/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1515: indexSelectSmallIndex: block: [0,0,0], thread: [3,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n{}", accelerator("device-side assert triggered", "cudaErrorAssert")),
                Some(Fault::Assertion),
            ),
            (accelerator("an illegal memory access was encountered", "cudaErrorIllegalAddress"), Some(Fault::Kernel)),
            // kernels of CUDA C++
            ("sync: 716 cudaErrorMisalignedAddress: misaligned address".to_owned(), Some(Fault::Kernel)),
            ("sync: 719 cudaErrorLaunchFailure: unspecified launch failure".to_owned(), Some(Fault::Kernel)),
            ("sync: 715 cudaErrorIllegalInstruction: an illegal instruction was encountered".to_owned(), Some(Fault::Kernel)),
            // CUDA_VISIBLE_DEVICES is empty, or names what there is not; no /dev/nvidia0
            ("RuntimeError: No CUDA GPUs are available".to_owned(), Some(Fault::Gpu)),
            ("cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorNoDevice: no CUDA-capable device is detected".to_owned(), Some(Fault::Gpu)),
            ("RuntimeError: jaxlib/cuda/versions_helpers.cc:135: operation cuInit(0) failed: CUDA_ERROR_NO_DEVICE".to_owned(), Some(Fault::Gpu)),
            // no /dev/nvidiactl
            ("Failed to initialize NVML: GPU access blocked by the operating system".to_owned(), Some(Fault::Gpu)),
            // no /dev/nvidia-uvm
            ("RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero.".to_owned(), Some(Fault::Gpu)),
            // no libraries of the driver
            ("RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx".to_owned(), Some(Fault::Driver)),
            ("pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found".to_owned(), Some(Fault::Driver)),
            // mistakes of programs
            (format!("torch.AcceleratorError: CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n{hint}"), None),
            ("pynvml.NVMLError_Uninitialized: Uninitialized".to_owned(), None),
            ("RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method".to_owned(), None),
            ("RuntimeError: DataLoader worker (pid 1465) is killed by signal: Killed. ".to_owned(), None),
            ("vm:1690:1690 [0] init.cc:904 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60".to_owned(), None),
            ("torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3135, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.28.9".to_owned(), None),
            ("torch.distributed.DistStoreError: Timed out after 9 seconds waiting for clients. 1/2 clients joined.".to_owned(), None),
        ];
        for (text, fault) in cases {
            assert_eq!(of(&text), fault, "{text}");
        }
    }
}
