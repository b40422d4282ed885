"""Language models: Llama, Mistral, Qwen and GPT-2."""
