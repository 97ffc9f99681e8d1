"""For the tests of whoever writes an adapter: checkers that name the first event that breaks the contract."""

from turnwire.messages.providers.contract import ContractChecker, ContractError, check_contract
from turnwire.messages.testing.agui_contract import AguiContractChecker, check_agui_contract

__all__ = ["AguiContractChecker", "ContractChecker", "ContractError", "check_agui_contract", "check_contract"]
