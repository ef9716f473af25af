// The words of Slang. slangnb/compiler/lexer.py has the same lists for Python; a test keeps them equal.

const split = text => text.trim().split(/\s+/);

// Statements, modifiers and operators that are words.
export const KEYWORDS = split(`
    break case catch continue default defer discard do else for goto if return switch throw throws try while where
    as is in out inout let var func new sizeof alignof countof operator
    const constexpr static uniform dynamic_uniform extern export import module implementing using namespace
    public private internal protected override virtual inline register volatile restrict
    groupshared precise row_major column_major snorm unorm noperspective nointerpolation globallycoherent
    noncopyable no_diff fwd_diff bwd_diff __fwd_diff __bwd_diff detach static_assert packoffset
    __generic __init __subscript __include __exported __extern_cpp __global __constref __ref __target_switch
    __stage_switch __intrinsic_asm __target_intrinsic __intrinsic_op __dispatch_kernel spirv_asm
`);

// Words that are names as often; they are keywords in front of a name or of a brace.
export const CONTEXTUAL = split(`
    borrow centroid dyn each expand explicit get implicit layout linear optional pervertex property ref sample set some
`);

// Words that a declaration begins with; the name that is declared follows.
export const DECLARATIONS = split(`
    struct class interface enum extension typedef typealias associatedtype functype typename cbuffer tbuffer
`);

export const CONSTANTS = split(`
    true false nullptr none
`);

export const SELVES = split(`
    this This super
`);

// Types of the language and of its core library, as regular expressions.
export const TYPES = split(`
    (?:bool|half|float|double|u?int|dword|float(?:16|32|64)_t|u?int(?:8|16|32|64)_t)(?:[1-4](?:x[1-4])?)?
    void u?intptr_t u?size_t ssize_t string String NativeString vector matrix
    Array Optional Tuple Ptr Ref Result Conditional Atomic DescriptorHandle
    I?D?Tensor(?:View)? I?(?:RW|W)Tensor I?(?:RW|W)?DiffTensor I?Grad(?:In|Out|InOut)Tensor
    I?PrimalTensor AtomicTensor DiffTensorView TorchTensor
    DifferentialPair DifferentialPtrPair Differential
    I(?:Differentiable|DifferentiablePtr)(?:Type)? I(?:Arithmetic|Float|Integer|Logical|Comparable|RangedValue|RW)
    I(?:RW)?Array I(?:Mutating|Differentiable|DifferentiableMutating)?Func I(?:Forward|Backward)Differentiable
    (?:RW|RasterizerOrdered|Append|Consume)?(?:Structured|ByteAddress)?Buffer
    ConstantBuffer TextureBuffer ParameterBlock GLSLShaderStorageBuffer
    (?:RW|RasterizerOrdered|W|Feedback)?(?:Texture|Sampler)(?:1D|2D|3D|Cube)(?:MS)?(?:Array)?
    Sampler(?:Comparison)?State RaytracingAccelerationStructure RayDesc RayQuery HitObject
    Coop(?:Vec|Mat) (?:Point|Line|Triangle)Stream (?:Input|Output)Patch Output(?:Vertices|Indices|Primitives)
`);
