"""Tools of `sheet`, in AgentGym's order."""

from agentgym_envs.families.sheet import reading, writing
from agentgym_envs.families.states import check_valid_actions
from agentgym_envs.tooluse import Toolset

TOOLS = Toolset(
    [
        reading.open_sheet,
        writing.del_sheet,
        reading.freeze_data,
        reading.get_A1_annotation,
        writing.insert_cols,
        writing.insert_rows,
        writing.delete_batch_data,
        writing.update_cell,
        writing.update_cell_by_formula,
        writing.update_range,
        writing.sort_sheet_by_col,
        writing.merge_cells,
        writing.update_note,
        reading.get_all_values,
        reading.get_range_values,
        reading.get_cell_value,
        reading.get_value_by_formula,
        reading.filter_cells,
        reading.get_note,
        check_valid_actions,
        reading.finish,
    ]
)
