from enum import StrEnum

class VerifierTextSimilarityMetric(StrEnum):
    BLEU = "bleu"
    FUZZY_MATCH = "fuzzy_match"
    GLEU = "gleu"
    ROUGE_1 = "rouge_1"
    ROUGE_2 = "rouge_2"
    ROUGE_3 = "rouge_3"
    ROUGE_4 = "rouge_4"
    ROUGE_5 = "rouge_5"
    ROUGE_L = "rouge_l"

    def __str__(self) -> str:
        return str(self.value)
