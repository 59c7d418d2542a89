# SPDX-License-Identifier: Apache-2.0
"""Models of the library transformers, small and with random weights, by torch's exporter of captured graphs."""
import torch
import transformers
from torch import nn

from .dynamo_export import both, floats, make, tokens

SMALL = dict(vocab_size=99, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
STEPS = {0: "batch", 1: "steps"}


class Tensors(nn.Module):
    """Calls a model by names and gives the named ones of its outputs."""

    def __init__(self, model, inputs, outputs):
        super().__init__()
        self.model, self.inputs, self.outputs = model, inputs, outputs

    def forward(self, *values):
        result = self.model(**dict(zip(self.inputs, values)))
        return tuple(getattr(result, name) for name in self.outputs)


class Step(nn.Module):
    """One step of a decoder: the keys and values of before as tensors, and the new ones."""

    def __init__(self, model, layers):
        super().__init__()
        self.model, self.layers = model, layers

    def forward(self, tokens, *past):
        cache = transformers.DynamicCache()
        for layer in range(self.layers):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        result = self.model(input_ids=tokens, past_key_values=cache, use_cache=True)
        after = result.past_key_values
        pairs = [value for layer in range(self.layers) for value in (after.layers[layer].keys, after.layers[layer].values)]
        return (result.logits, *pairs)


def tensors(name, config_class, model_class, inputs, outputs, make_inputs, axes, **settings):
    """A model with fixed sizes, and with open ones."""
    def build():
        model = model_class(config_class(**{**settings, "attn_implementation": "eager"}))
        model.config.use_cache = False
        return Tensors(model, inputs, outputs)
    yield from both("huggingface", name, build, make_inputs, axes)


def text(name, *, outputs=("last_hidden_state",), extra=None, family=None, kind="Model", **settings):
    family = family or name
    config = getattr(transformers, family + "Config")
    yield from tensors(f"{name.lower()}", config, getattr(transformers, family + kind), ["input_ids", "attention_mask"],
                       outputs, lambda: [tokens(2, 9, most=90), mask(2, 9)], {0: STEPS, 1: STEPS},
                       **{**SMALL, **(extra or {}), **settings})


def mask(rows, columns):
    value = torch.ones(rows, columns, dtype=torch.int64)
    value[0, columns * 2 // 3:] = 0
    return value


def encoders():
    yield from text("Bert", max_position_embeddings=32, outputs=("last_hidden_state", "pooler_output"))
    yield from text("Roberta", max_position_embeddings=32)
    yield from text("Albert", max_position_embeddings=32, embedding_size=16)
    yield from text("Electra", max_position_embeddings=32, embedding_size=16)
    yield from text("DistilBert", dim=32, hidden_dim=64, n_layers=2, n_heads=4)
    yield from text("MPNet", max_position_embeddings=32)
    yield from text("Deberta", family="DebertaV2", max_position_embeddings=32, relative_attention=True,
                    pos_att_type=["p2c", "c2p"])
    yield from text("MobileBert", max_position_embeddings=32, embedding_size=32, true_hidden_size=32,
                    intra_bottleneck_size=32)
    yield from text("ModernBert", max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                    cls_token_id=1, sep_token_id=2)


def decoders():
    grouped = dict(num_key_value_heads=2, max_position_embeddings=64)
    for name in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Gemma2", "Phi3", "Olmo2", "StableLm", "Cohere"):
        yield from text(name, kind="ForCausalLM", outputs=("logits",), extra=grouped, pad_token_id=0,
                        **({"head_dim": 8} if name in ("Qwen3", "Gemma", "Gemma2") else {}))
    yield from text("GPT2", kind="LMHeadModel", outputs=("logits",), n_embd=32, n_layer=2, n_head=4, n_positions=64)
    yield from text("GPTNeoX", kind="ForCausalLM", outputs=("logits",), max_position_embeddings=64)
    yield from text("OPT", kind="ForCausalLM", outputs=("logits",), ffn_dim=64, max_position_embeddings=64,
                    word_embed_proj_dim=32)
    yield from text("Bloom", kind="ForCausalLM", outputs=("logits",), n_layer=2, n_head=4)
    yield from text("Falcon", kind="ForCausalLM", outputs=("logits",))
    yield from text("Mixtral", kind="ForCausalLM", outputs=("logits",), extra=grouped, num_local_experts=4)
    yield from text("Qwen2Moe", kind="ForCausalLM", outputs=("logits",), extra=grouped, num_experts=4,
                    moe_intermediate_size=32, shared_expert_intermediate_size=32)


def steps():
    for name, width in (("Llama", 8), ("Qwen3", 8), ("GPT2", 8)):
        heads = 4 if name == "GPT2" else 2
        settings = dict(n_embd=32, n_layer=2, n_head=4, n_positions=64, vocab_size=99) if name == "GPT2" else \
            dict(**SMALL, num_key_value_heads=2, max_position_embeddings=64, head_dim=8)

        def build(name=name, settings=settings):
            kind = "LMHeadModel" if name == "GPT2" else "ForCausalLM"
            config = getattr(transformers, name + "Config")(**settings, attn_implementation="eager")
            return Step(getattr(transformers, name + kind)(config), 2)

        def inputs(heads=heads, width=width):
            return [tokens(1, 1, most=90), *(floats(1, heads, 5, width, seed=3 + i) for i in range(4))]
        past = {2: "past"}
        yield from both("huggingface", name.lower() + "_step", build, inputs, {i: past for i in range(1, 5)})


def pairs():
    yield from tensors("t5", transformers.T5Config, transformers.T5ForConditionalGeneration,
                       ["input_ids", "decoder_input_ids"], ["logits"],
                       lambda: [tokens(2, 9, most=90), tokens(2, 5, most=90)],
                       {0: {0: "batch", 1: "source"}, 1: {0: "batch", 1: "target"}}, vocab_size=99, d_model=32, d_kv=8,
                       d_ff=64, num_layers=2, num_heads=4)
    yield from tensors("bart", transformers.BartConfig, transformers.BartForConditionalGeneration,
                       ["input_ids", "decoder_input_ids"], ["logits"],
                       lambda: [tokens(2, 9, most=90), tokens(2, 5, most=90)],
                       {0: {0: "batch", 1: "source"}, 1: {0: "batch", 1: "target"}}, vocab_size=99, d_model=32,
                       encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                       encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64)
    yield from tensors("whisper", transformers.WhisperConfig, transformers.WhisperForConditionalGeneration,
                       ["input_features", "decoder_input_ids"], ["logits"],
                       lambda: [floats(1, 16, 60), tokens(1, 5, most=90)], {1: {1: "target"}}, vocab_size=99, d_model=32,
                       num_mel_bins=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                       decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=30,
                       max_target_positions=30, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                       decoder_start_token_id=1)
    yield from tensors("wav2vec2", transformers.Wav2Vec2Config, transformers.Wav2Vec2ForCTC, ["input_values"], ["logits"],
                       lambda: [floats(1, 4000)], {0: {0: "batch"}}, **SMALL, conv_dim=(16,) * 7,
                       num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
    vision = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32,
                  patch_size=8)
    words = dict(**SMALL, max_position_embeddings=32, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    yield from tensors("clip", transformers.CLIPConfig, transformers.CLIPModel,
                       ["input_ids", "pixel_values", "attention_mask"], ["logits_per_image", "logits_per_text"],
                       lambda: [tokens(2, 9, most=90), floats(3, 3, 32, 32), mask(2, 9)],
                       {0: {0: "texts", 1: "steps"}, 1: {0: "images"}, 2: {0: "texts", 1: "steps"}},
                       text_config=words, vision_config=vision, projection_dim=16)


def images():
    image = dict(image_size=32, patch_size=8, num_channels=3)
    layers = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
    for name, settings in (("ViT", {**image, **layers}), ("DeiT", {**image, **layers}), ("Dinov2", {**image, **layers}),
                           ("Beit", {**image, **layers}),
                           ("Swin", dict(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                                         window_size=4)),
                           ("Swinv2", dict(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                                           window_size=4)),
                           ("Segformer", dict(hidden_sizes=[16, 32, 40, 64], depths=[1, 1, 1, 1],
                                              num_attention_heads=[1, 2, 4, 8])),
                           ("ConvNextV2", dict(hidden_sizes=[16, 32, 40, 64], depths=[1, 1, 1, 1])),
                           ("MobileViT", dict(image_size=64, patch_size=2, hidden_sizes=[16, 24, 32],
                                              neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64])),
                           ("Pvt", dict(image_size=64, hidden_sizes=[16, 32, 40, 64], depths=[1, 1, 1, 1],
                                        num_attention_heads=[1, 2, 4, 8]))):
        side = 64 if name in ("Segformer", "MobileViT", "ConvNextV2", "Pvt") else 32
        yield from tensors(name.lower(), getattr(transformers, name + "Config"), getattr(transformers, name + "Model"),
                           ["pixel_values"], ["last_hidden_state"], lambda side=side: [floats(2, 3, side, side)],
                           {0: {0: "batch"}}, **settings)
    backbone = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 24, 32, 40], depths=[1, 1, 1, 1],
                                         out_features=["stage4"])
    for name in ("Detr", "ConditionalDetr"):
        yield from tensors(name.lower(), getattr(transformers, name + "Config"),
                           getattr(transformers, name + "ForObjectDetection"), ["pixel_values"], ["logits", "pred_boxes"],
                           lambda: [floats(1, 3, 64, 96)], {0: {0: "batch"}}, use_timm_backbone=False,
                           use_pretrained_backbone=False, backbone=None, backbone_config=backbone, num_queries=10,
                           d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                           decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64)


def models():
    for family in (encoders, decoders, steps, pairs, images):
        yield from family()
