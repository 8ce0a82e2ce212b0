"""Models behind endpoints in a conversation: one that plays a seat, and one that judges.

Names for other packages: `judge.JudgeFault`, `judge.JudgeModel`, `judge.judged`, `judge.judgement`,
`partner.ModelPartner`, `partner.PartnerFault`, `partner.PartnerModel`.
"""
