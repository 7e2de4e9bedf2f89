"""The convolutions of convolve.cu as functions of PyTorch. Activations are bfloat16 on a GPU and float32 on the host, parameters float32."""
import torch

from native import call


def kind(tensor):
    return torch.bfloat16 if tensor.is_cuda else torch.float32


class Stem(torch.autograd.Function):
    """features [clips, frames, bins] float32, counts [clips] int32, two kernels [channels, 1, 3, 3] with biases -> [clips, frames / 4, bins / 4, channels]:
    convolution, ReLU, depthwise convolution, both of stride 2. Features have no gradient."""

    @staticmethod
    def forward(ctx, features, counts, first, first_bias, second, second_bias):
        clips, frames, bins = features.shape
        features = features.contiguous()
        y = torch.empty(clips, frames // 4, bins // 4, len(first), dtype=kind(features), device=features.device)
        call("convolve", "stem", features, counts, first, first_bias, second, second_bias, y, clips, frames, bins, len(first))
        ctx.save_for_backward(features, counts, first, first_bias, second)
        return y

    @staticmethod
    def backward(ctx, gradient):
        features, counts, first, first_bias, second = ctx.saved_tensors
        made = [torch.zeros_like(first), torch.zeros_like(first_bias), torch.zeros_like(second), torch.zeros_like(first_bias)]
        call("convolve", "stem_gradient", features, counts, first, first_bias, second, gradient.contiguous(), *made, *features.shape, len(first))
        return None, None, *made


class Plane(torch.autograd.Function):
    """x [clips, rows, columns, channels], counts [clips] int32 of valid rows, kernel [channels, 1, 3, 3] -> depthwise convolution of stride 2 of ReLU(x)."""

    @staticmethod
    def forward(ctx, x, counts, kernel, bias):
        clips, rows, columns, channels = x.shape
        x = x.contiguous()
        y = torch.empty(clips, rows // 2, columns // 2, channels, dtype=x.dtype, device=x.device)
        call("convolve", "plane", x, counts, kernel, bias, y, clips, rows, columns, channels)
        ctx.save_for_backward(x, counts, kernel)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, counts, kernel = ctx.saved_tensors
        made = [torch.empty_like(x), torch.zeros_like(kernel), torch.zeros(len(kernel), device=x.device)]
        call("convolve", "plane_gradient", x, counts, kernel, gradient.contiguous(), *made, *x.shape)
        return made[0], None, made[1], made[2]


class Line(torch.autograd.Function):
    """x [clips, frames, channels], kernel [channels, 1, 9] -> depthwise convolution over frames."""

    @staticmethod
    def forward(ctx, x, kernel, bias):
        x = x.contiguous()
        y = torch.empty_like(x)
        call("convolve", "line", x, kernel, bias, y, *x.shape)
        ctx.save_for_backward(x, kernel)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, kernel = ctx.saved_tensors
        made = [torch.empty_like(x), torch.zeros_like(kernel), torch.zeros(len(kernel), device=x.device)]
        call("convolve", "line_gradient", x, kernel, gradient.contiguous(), *made, *x.shape)
        return tuple(made)
